package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// For a peer that hangs, not for a slow machine.
const (
	hangLimit = 2 * time.Minute
	idleLimit = 10 * time.Minute
)

type quicStack struct {
	settings
	tls *tls.Config
}

type quicChannel struct {
	conn    *quic.Conn
	streams []*quic.SendStream
}

func (s quicStack) config() *quic.Config {
	return &quic.Config{
		MaxIncomingStreams:    -1,
		MaxIncomingUniStreams: int64(s.streams),
		HandshakeIdleTimeout:  hangLimit,
		MaxIdleTimeout:        idleLimit,
	}
}

func (s quicStack) connect(ctx context.Context, address string) (channel, error) {
	conn, err := quic.DialAddr(ctx, address, s.tls, s.config())
	if err != nil {
		return nil, err
	}
	return s.channel(ctx, conn)
}

func (s quicStack) listen(ctx context.Context, listening func(int), accepted func(channel)) error {
	listener, err := quic.ListenAddr("127.0.0.1:0", s.tls, s.config())
	if err != nil {
		return err
	}
	listening(listener.Addr().(*net.UDPAddr).Port)
	for {
		conn, err := listener.Accept(ctx)
		if err != nil {
			return err
		}
		c, err := s.channel(ctx, conn)
		if err != nil {
			return err
		}
		accepted(c)
	}
}

// channel opens the streams in their order, so that the Nth of an end has number N at the other.
func (s quicStack) channel(ctx context.Context, conn *quic.Conn) (channel, error) {
	c := quicChannel{conn: conn}
	for range s.streams {
		stream, err := conn.OpenUniStreamSync(ctx)
		if err != nil {
			return nil, err
		}
		c.streams = append(c.streams, stream)
	}
	return c, nil
}

func (c quicChannel) send(stream int, message []byte) error {
	_, err := c.streams[stream].Write(message)
	return err
}

func (c quicChannel) receive(got func(int, []byte)) error {
	var readers sync.WaitGroup
	var err error
	for {
		var stream *quic.ReceiveStream
		if stream, err = c.conn.AcceptUniStream(context.Background()); err != nil {
			break
		}
		readers.Go(func() { read(stream, got) })
	}
	readers.Wait()
	var closed *quic.ApplicationError
	if errors.As(err, &closed) && closed.ErrorCode == 0 {
		return nil
	}
	return err
}

// read ends with its stream; the reason is the connection's.
func read(stream *quic.ReceiveStream, got func(int, []byte)) {
	for {
		message, err := readMessage(stream)
		if err != nil {
			return
		}
		got(int(stream.StreamID().StreamNum())-1, message)
	}
}

// close ends the streams, behind all that was sent on them. The other end then closes the connection:
// CloseWithError would drop messages under way.
func (c quicChannel) close() error {
	for _, stream := range c.streams {
		if err := stream.Close(); err != nil {
			return err
		}
	}
	return nil
}
