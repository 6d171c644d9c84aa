// Package kcp is a stand-in for theirs: messages with numbers, delivered in the order of these.
package kcp

import "time"

var refTime time.Time

type KCP struct {
	output     func(data []byte, size int)
	sent, next byte
	unsent     [][]byte
	received   map[byte][]byte
}

func NewKCP(_ uint32, output func(data []byte, size int)) *KCP {
	return &KCP{output: output, received: map[byte][]byte{}}
}

func (k *KCP) NoDelay(nodelay, interval, resend, nc int) {}

func (k *KCP) Send(message []byte) {
	k.unsent = append(k.unsent, append([]byte{k.sent}, message...))
	k.sent++
}

func (k *KCP) flush(bool) {
	for _, data := range k.unsent {
		k.output(data, len(data))
	}
	k.unsent = nil
}

func (k *KCP) Input(data []byte, _, _ bool) { k.received[data[0]] = data[1:] }

func (k *KCP) PeekSize() int { return len(k.received[k.next]) }

func (k *KCP) Recv(buffer []byte) {
	copy(buffer, k.received[k.next])
	delete(k.received, k.next)
	k.next++
}
