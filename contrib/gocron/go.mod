module github.com/holdfast-locks/holdfast/contrib/gocron

go 1.26.0

replace github.com/holdfast-locks/holdfast => ../../

require (
	github.com/go-co-op/gocron/v2 v2.21.2
	github.com/google/uuid v1.6.0
	github.com/holdfast-locks/holdfast v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
)

require (
	github.com/jonboulle/clockwork v0.5.0 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
)
