// Drives Azeved00/Go2Go, trab3: handleCon and ProcessQueue of Peer, as a test file in their package peer.
package peer

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"p2p/lamport"
	"strconv"
	"strings"
	"testing"
)

func TestMain(*testing.M) {
	var p *Peer
	var from []net.Conn
	var out [9]bytes.Buffer // what is written to each peer
	output, printed, _ := os.Pipe()
	seen, in, answers := bufio.NewScanner(output), bufio.NewScanner(os.Stdin), os.Stdout
	for os.Stdout = printed; in.Scan(); fmt.Fprintln(answers, "ok") {
		words := append(strings.SplitN(in.Text(), " ", 3), "", "")
		number, _ := strconv.Atoi(words[1])
		switch words[0] {
		case "init":
			p, from = &Peer{clock: lamport.NewLamportClock(words[1]), conns: NewConnMap()}, nil
			for k := 0; strconv.Itoa(k) != words[2]; k++ {
				out[k].Reset()
				p.conns.Set(strconv.Itoa(k), gob.NewEncoder(&out[k]))
				there, here := net.Pipe()
				from = append(from, here)
				go p.handleCon(there)
				seen.Scan() // that somebody has connected
			}
			p.p_heap.mutex.Lock() // so that it does not go round while there is no message
			go p.ProcessQueue()
		case "send": // as Poison, which waits for random times, and sends random words
			p.clock.Increment()
			clock, _ := p.clock.Serialize()
			for _, to := range p.conns.GetKeys() {
				p.conns.Send(to, Message{Word: words[2], Clock_ser: clock})
			}
			for to := range from {
				fmt.Fprintln(answers, "packet", to, hex.EncodeToString(out[to].Next(999)))
			}
		case "packet":
			p.p_heap.mutex.Unlock()
			data, _ := hex.DecodeString(words[2])
			from[number].Write(data)
			for line := 0; line < 4 && seen.Scan(); line++ { // received, its clock, the own clock, and the word
			}
			p.p_heap.mutex.Lock()
			fmt.Fprintln(answers, "deliver", seen.Text())
		}
	}
}
