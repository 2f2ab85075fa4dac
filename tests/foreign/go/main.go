// Command peer is one end of SIMCO's transports over Go's stacks: quic-go, pion/sctp and crypto/tls.
// It knows no message, only where one ends. Lines on standard input say what to send, lines on
// standard output what arrives; README.md lists them.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// A channel is a connection that carries whole messages on numbered streams.
type channel interface {
	send(stream int, message []byte) error
	// receive returns at the end of the connection: nil if it was orderly.
	receive(got func(stream int, message []byte)) error
	close() error
}

// A stack makes channels.
type stack interface {
	connect(ctx context.Context, address string) (channel, error)
	// listen announces its port, and each channel.
	listen(ctx context.Context, listening func(port int), accepted func(channel)) error
}

type settings struct {
	streams                     int
	certificate, key, authority string
}

type peer struct {
	mutex    sync.Mutex
	channels []channel
}

func say(words ...any) { fmt.Println(words...) }

func (p *peer) add(c channel) {
	p.mutex.Lock()
	number := len(p.channels)
	p.channels = append(p.channels, c)
	say("open", number)
	p.mutex.Unlock()
	err := c.receive(func(stream int, message []byte) {
		say("got", number, stream, hex.EncodeToString(message))
	})
	if err != nil {
		say("end", number, "lost", err)
	} else {
		say("end", number, "orderly")
	}
}

func (p *peer) channel(word string) (channel, error) {
	number, err := strconv.Atoi(word)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err != nil || number < 0 || number >= len(p.channels) {
		return nil, fmt.Errorf("there is no connection %s", word)
	}
	return p.channels[number], nil
}

func (p *peer) do(words []string, connect func() error) error {
	if words[0] == "connect" {
		return connect()
	}
	c, err := p.channel(words[1])
	if err != nil {
		return err
	}
	if words[0] == "close" {
		return c.close()
	}
	stream, err := strconv.Atoi(words[2])
	if err != nil {
		return err
	}
	message, err := hex.DecodeString(words[3])
	if err != nil {
		return err
	}
	return c.send(stream, message)
}

func (p *peer) run(s stack, address string) error {
	ctx := context.Background()
	if address == "" {
		go func() {
			err := s.listen(ctx, func(port int) { say("listening", port) }, func(c channel) { go p.add(c) })
			say("failed", err)
		}()
	}
	connect := func() error {
		c, err := s.connect(ctx, address)
		if err != nil {
			say("refused", err)
			return nil
		}
		go p.add(c)
		return nil
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := p.do(strings.Fields(lines.Text()), connect); err != nil {
			say("failed", lines.Text(), err)
		}
	}
	return nil
}

func main() {
	var options settings
	name := flag.String("stack", "", "quic, sctp or tls")
	address := flag.String("connect", "", "HOST:PORT; without it, listen")
	flag.IntVar(&options.streams, "streams", 1, "streams of each end")
	flag.StringVar(&options.certificate, "certificate", "", "PEM")
	flag.StringVar(&options.key, "key", "", "PEM")
	flag.StringVar(&options.authority, "authority", "", "PEM")
	flag.Parse()
	s, err := newStack(*name, options)
	if err == nil {
		err = (&peer{}).run(s, *address)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newStack(name string, options settings) (stack, error) {
	if name == "sctp" {
		return sctpStack{options}, nil
	}
	config, err := tlsConfig(options)
	switch {
	case err != nil:
		return nil, err
	case name == "quic":
		return quicStack{options, config}, nil
	case name == "tls":
		return tlsStack{config}, nil
	}
	return nil, fmt.Errorf("unknown stack %q", name)
}
