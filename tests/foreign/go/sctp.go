package main

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

const (
	payloadProtocol = 15    // SIMCO's, in each user message
	messageMax      = 65536 // octets
)

type sctpStack struct{ settings }

type sctpChannel struct {
	association *sctp.Association
	streams     int
}

func config(over net.Conn) sctp.Config {
	return sctp.Config{NetConn: over, LoggerFactory: logging.NewDefaultLoggerFactory()}
}

// connect runs SCTP over UDP (RFC 6951): a datagram is an SCTP packet.
func (s sctpStack) connect(_ context.Context, address string) (channel, error) {
	over, err := net.Dial("udp", address)
	if err != nil {
		return nil, err
	}
	association, err := sctp.Client(config(over))
	if err != nil {
		return nil, err
	}
	return sctpChannel{association, s.streams}, nil
}

func (s sctpStack) listen(_ context.Context, listening func(int), accepted func(channel)) error {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	listening(socket.LocalAddr().(*net.UDPAddr).Port)
	return demultiplex(socket, func(over net.Conn) {
		association, err := sctp.Server(config(over))
		if err != nil {
			say("refused", err)
			return
		}
		accepted(sctpChannel{association, s.streams})
	})
}

func (c sctpChannel) send(number int, message []byte) error {
	stream, err := c.association.OpenStream(uint16(number), payloadProtocol)
	if err == nil {
		_, err = stream.WriteSCTP(message, payloadProtocol)
	}
	return err
}

// receive reads all streams: pion makes one at the first use by either end.
func (c sctpChannel) receive(got func(int, []byte)) error {
	var readers sync.WaitGroup
	ends := make(chan error, c.streams)
	for number := range c.streams {
		stream, err := c.association.OpenStream(uint16(number), payloadProtocol)
		if err != nil {
			return err
		}
		readers.Go(func() { ends <- c.read(stream, got) })
	}
	readers.Wait()
	return <-ends
}

func (c sctpChannel) read(stream *sctp.Stream, got func(int, []byte)) error {
	buffer := make([]byte, messageMax)
	for {
		size, identifier, err := stream.ReadSCTP(buffer)
		if errors.Is(err, net.ErrClosed) { // pion closes what is below after a SHUTDOWN of either end
			return nil
		}
		if err != nil {
			return err
		}
		if identifier != payloadProtocol {
			return errors.New("not SIMCO's payload protocol identifier")
		}
		got(int(stream.StreamIdentifier()), append([]byte{}, buffer[:size]...))
	}
}

// close does not wait for the other end, which may have gone; receive tells the end.
func (c sctpChannel) close() error {
	go func() { _ = c.association.Shutdown(context.Background()) }()
	return nil
}
