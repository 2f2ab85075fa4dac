module simco/tests/foreign

go 1.26.0

require (
	github.com/pion/logging v0.2.4
	github.com/pion/sctp v1.12.1
	github.com/quic-go/quic-go v0.65.0
)

require (
	github.com/pion/randutil v0.1.0 // indirect
	github.com/pion/transport/v5 v5.1.4 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
