package clientele
