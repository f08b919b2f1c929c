# The eleven verbs. `.ci/run` has all stages, and docs/developing.md all commands.
.DEFAULT_GOAL := help
.PHONY: help build demo test short lint generate sim site man ci

help: ## lists the verbs
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 18

build: ## builds the one binary, ./holdfast
	CGO_ENABLED=0 go build ./cmd/holdfast

demo: ## runs real processes and real faults, and prints a verdict
	go run ./cmd/holdfast demo

test: ## runs all tests
	go test ./...

short: ## runs fewer rounds, for the time between two edits
	go test -short ./...

lint: ## checks format, style and dead code
	.ci/run format lint

generate: ## writes what is generated from the .proto files
	tools/generate

sim: ## breaks simulated members for a minute, with fresh seeds
	go run ./cmd/holdfast sim --sweep 1m --faults all

site: ## builds the site of docs, build/site, and checks its links
	.ci/run site

man: ## writes the manual pages, build/man
	go run ./cmd/holdfast man build/man

ci: ## runs all that must hold before a merge, as CI does
	.ci/run
