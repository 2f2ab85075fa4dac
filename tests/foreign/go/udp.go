package main

import (
	"net"
	"net/netip"
	"sync"
)

const (
	datagramMax = 65536 // octets
	queued      = 256   // datagrams of a remote address that pion has not read
)

// A remote is one sender's part of a UDP socket, as the connection that pion expects.
type remote struct {
	*net.UDPConn
	address  netip.AddrPort
	arriving chan []byte
	closed   chan struct{}
	close    sync.Once
}

func (r *remote) Read(into []byte) (int, error) {
	select {
	case datagram := <-r.arriving:
		return copy(into, datagram), nil
	case <-r.closed:
		return 0, net.ErrClosed
	}
}

func (r *remote) Write(from []byte) (int, error) { return r.WriteToUDPAddrPort(from, r.address) }
func (r *remote) RemoteAddr() net.Addr           { return net.UDPAddrFromAddrPort(r.address) }

// Close leaves the socket to the others.
func (r *remote) Close() error {
	r.close.Do(func() { close(r.closed) })
	return nil
}

// demultiplex calls `accepted` with a connection for each address that sends.
func demultiplex(socket *net.UDPConn, accepted func(net.Conn)) error {
	remotes := map[netip.AddrPort]*remote{}
	buffer := make([]byte, datagramMax)
	for {
		size, from, err := socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return err
		}
		known := remotes[from]
		if known == nil {
			known = &remote{
				UDPConn: socket, address: from,
				arriving: make(chan []byte, queued), closed: make(chan struct{}),
			}
			remotes[from] = known
			go accepted(known)
		}
		select {
		case known.arriving <- append([]byte{}, buffer[:size]...):
		default: // lost, as in a router; SCTP sends it again
		}
	}
}
