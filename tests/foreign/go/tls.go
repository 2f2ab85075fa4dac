package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
)

// tlsConfig makes both ends show a certificate, as doc/configuration.md demands.
func tlsConfig(options settings) (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(options.certificate, options.key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(options.authority)
	if err != nil {
		return nil, err
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(pem)
	return &tls.Config{
		Certificates: []tls.Certificate{own},
		RootCAs:      authority,
		ClientCAs:    authority,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ServerName:   "127.0.0.1",
		NextProtos:   []string{"simco"},
	}, nil
}

type tlsStack struct{ config *tls.Config }

type tlsChannel struct{ conn *tls.Conn }

func (s tlsStack) connect(ctx context.Context, address string) (channel, error) {
	conn, err := (&tls.Dialer{Config: s.config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return tlsChannel{conn.(*tls.Conn)}, nil
}

func (s tlsStack) listen(ctx context.Context, listening func(int), accepted func(channel)) error {
	listener, err := tls.Listen("tcp", "127.0.0.1:0", s.config)
	if err != nil {
		return err
	}
	listening(listener.Addr().(*net.TCPAddr).Port)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		accepted(tlsChannel{conn.(*tls.Conn)})
	}
}

func (c tlsChannel) send(_ int, message []byte) error {
	_, err := c.conn.Write(message)
	return err
}

// receive takes only a close_notify alert for an orderly end: without one, Go says io.ErrUnexpectedEOF.
func (c tlsChannel) receive(got func(int, []byte)) error {
	for {
		message, err := readMessage(c.conn)
		if err == io.EOF {
			return c.conn.Close()
		}
		if err != nil {
			return err
		}
		got(0, message)
	}
}

// close may come after the other end's close_notify, when receive has closed the connection.
func (c tlsChannel) close() error {
	if err := c.conn.CloseWrite(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
