module github.com/holdfast-locks/holdfast/contrib/terraform

go 1.26.0

replace github.com/holdfast-locks/holdfast => ../../

require (
	github.com/holdfast-locks/holdfast v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.49.0
)
