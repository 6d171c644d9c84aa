// As a test file in their package process: two processes, whose messages the test hands on, each link in order.
package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
)

type wire struct {
	net.Conn
	lines []string
}

func (w *wire) Write(line []byte) (int, error) {
	w.lines = append(w.lines, string(line))
	return len(line), nil
}

func create(id string, other *wire) (p *Process, log *bytes.Buffer) {
	p, log = &Process{}, &bytes.Buffer{}
	p.Init()
	p.verified, p.log_writer, p.groupSize = make(chan *Msg), bufio.NewWriter(log), 2
	for _, peer := range []string{"P1", "P2"} {
		p.peers[peer] = &Node{Id: peer, Conn: other}
	}
	p.self = p.peers[id]
	go p.Ordering()
	return p, log
}

// run does what MonitorChannel does with a new message, and with what the process then sends to itself.
func (p *Process) run(messages ...string) {
	for _, text := range messages {
		msg := &Msg{}
		json.Unmarshal([]byte(text), msg)
		p.recvd <- msg
	}
	for len(p.recvd) > 0 {
		msg := <-p.recvd
		if msg.MT == Normal {
			p.msgs[msg.Id] = &PdMsg{msg, 0}
		}
		p.verified <- msg
		p.verified <- &Msg{From: "nobody"}
	}
}

func TestTheyDisagree(*testing.T) {
	to1, to2 := &wire{}, &wire{}
	p1, log1 := create("P1", to2)
	p2, log2 := create("P2", to1)
	maxPriority = 0
	p2.multicast(&Msg{From: "P2", Id: "m2", MT: Normal})
	p2.run()
	p1.run(to1.lines[0]) // m2, which P1 answers
	p1.multicast(&Msg{From: "P1", Id: "m1", MT: Normal})
	p1.run()
	p2.run(to2.lines[0]) // the answer, so P2 delivers m2
	p2.run(to2.lines[1]) // m1, which P2 answers
	p1.run(to1.lines[1:]...)
	p2.run(to2.lines[2:]...)
	fmt.Println("P1 delivers", strings.Fields(log1.String())[0], "first")
	fmt.Println("P2 delivers", strings.Fields(log2.String())[0], "first")
}
