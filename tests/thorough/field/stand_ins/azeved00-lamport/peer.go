// Package peer is a stand-in for theirs, wrong in the same way: each message is printed as soon as it has come.
package peer

import (
	"encoding/gob"
	"fmt"
	"net"
	"p2p/lamport"
	"sync"
)

type Message struct {
	Word      string
	Clock_ser []byte
}

type ConnMap map[string]*gob.Encoder

type Peer struct {
	clock  lamport.LampClock
	conns  ConnMap
	p_heap struct{ mutex sync.RWMutex }
}

func NewConnMap() ConnMap                         { return ConnMap{} }
func (c ConnMap) Set(to string, e *gob.Encoder)   { c[to] = e }
func (c ConnMap) Send(to string, m Message) error { return c[to].Encode(m) }
func (p *Peer) ProcessQueue()                     {}

func (c ConnMap) GetKeys() (keys []string) {
	for to := range c {
		keys = append(keys, to)
	}
	return keys
}

func (p *Peer) handleCon(conn net.Conn) {
	fmt.Println("connected")
	decoder, m := gob.NewDecoder(conn), Message{}
	for decoder.Decode(&m) == nil {
		fmt.Printf("received\n%d\n%d\n%s\n", m.Clock_ser, p.clock.Counter, m.Word)
	}
}
