// Drives quocthanhp/UIUC-CS425: Ordering and multicast of Process, as a test file in their package process.
package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

var answers, packets = os.Stdout, [9]string{} // to each process, since their multicast goes through a map of these

type link struct { // takes what is written to a peer
	net.Conn
	to int
}

func (l link) Write(line []byte) (int, error) {
	packets[l.to] += fmt.Sprint("packet ", l.to, " ", string(line))
	return len(line), nil
}

type application struct{} // takes what is logged at a delivery
func (application) Write(line []byte) (int, error) {
	return fmt.Fprintln(answers, "deliver", strings.Fields(string(line))[0])
}

func TestMain(*testing.M) {
	for p, in := (&Process{}), bufio.NewScanner(os.Stdin); in.Scan(); fmt.Fprintln(answers, strings.Join(packets[:], "")+"ok") {
		words := append(strings.SplitN(in.Text(), " ", 3), "", "")
		os.Stdout, packets = nil, [9]string{} // their code prints balances
		switch words[0] {
		case "init":
			p, maxPriority = &Process{}, 0
			p.Init()
			p.verified, p.log_writer = make(chan *Msg), bufio.NewWriter(application{})
			for fmt.Sscan(words[2], &p.groupSize); len(p.peers) < p.groupSize; {
				p.peers[fmt.Sprint(len(p.peers))] = &Node{Id: fmt.Sprint(len(p.peers)), Conn: link{to: len(p.peers)}}
			}
			p.self = p.peers[words[1]]
			go p.Ordering()
		case "send":
			p.multicast(&Msg{From: p.self.Id, Id: words[2], MT: Normal})
		case "packet":
			p.recvd <- &Msg{Id: words[2]}
		}
		for len(p.recvd) > 0 { // as their MonitorChannel, for messages that it has not seen
			msg := <-p.recvd
			if json.Unmarshal([]byte(msg.Id), msg); msg.MT == Normal {
				p.msgs[msg.Id] = &PdMsg{msg, 0}
			}
			p.verified <- msg
			p.verified <- &Msg{From: "nobody"} // is ignored, when the one before it has been handled
		}
	}
}
