// As a test file in their package peer: two peers, and a message of each that reaches its sender first.
package peer

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"net"
	"p2p/lamport"
	"testing"
	"time"
)

func TestTheyDisagree(*testing.T) {
	send := func(from *Peer, word string) []byte {
		var out bytes.Buffer
		from.clock.Increment()
		clock, _ := from.clock.Serialize()
		gob.NewEncoder(&out).Encode(Message{Word: word, Clock_ser: clock})
		return out.Bytes()
	}
	receive := func(to *Peer, data []byte) {
		there, here := net.Pipe()
		go to.handleCon(there)
		here.Write(data)
		time.Sleep(100 * time.Millisecond)
	}
	peers := []*Peer{{clock: lamport.NewLamportClock("P1")}, {clock: lamport.NewLamportClock("P2")}}
	m1, m2 := send(peers[0], "m1"), send(peers[1], "m2")
	for k, order := range [][][]byte{{m1, m2}, {m2, m1}} {
		fmt.Println("P", k+1, "prints the words:")
		go peers[k].ProcessQueue()
		receive(peers[k], order[0])
		receive(peers[k], order[1])
	}
}
