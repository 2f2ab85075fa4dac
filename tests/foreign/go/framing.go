package main

import (
	"encoding/binary"
	"errors"
	"io"
)

const headerSize = 8 // RFC 4540 4.2: types, the length behind the header, TID

// readMessage reads one whole message. io.EOF means that the octets ended between two messages.
func readMessage(from io.Reader) ([]byte, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(from, header); err != nil {
		return nil, err
	}
	message := make([]byte, headerSize+int(binary.BigEndian.Uint16(header[2:])))
	copy(message, header)
	if _, err := io.ReadFull(from, message[headerSize:]); err != nil {
		return nil, errors.Join(errors.New("a message in pieces"), err)
	}
	return message, nil
}
