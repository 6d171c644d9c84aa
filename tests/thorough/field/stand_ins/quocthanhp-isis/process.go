// Package process is a stand-in for theirs, wrong in a similar way: a message is delivered as soon as it has a number.
package process

import (
	"bufio"
	"encoding/json"
	"net"
)

var maxPriority int

const Normal = "normal"

type Msg struct{ From, Id, MT string }

type PdMsg struct {
	*Msg
	answers int
}

type Node struct {
	Id   string
	Conn net.Conn
}

type Process struct {
	self            *Node
	peers           map[string]*Node
	groupSize       int
	recvd, verified chan *Msg
	msgs            map[string]*PdMsg
	log_writer      *bufio.Writer
}

func (p *Process) Init() {
	p.peers, p.msgs, p.recvd = map[string]*Node{}, map[string]*PdMsg{}, make(chan *Msg, 99)
}

func (p *Process) unicast(msg Msg, peer *Node) {
	if line, _ := json.Marshal(msg); peer == p.self {
		p.recvd <- &msg
	} else {
		peer.Conn.Write(append(line, '\n'))
	}
}

func (p *Process) multicast(msg *Msg) {
	for _, peer := range p.peers {
		p.unicast(*msg, peer)
	}
}

func (p *Process) Ordering() {
	for msg := range p.verified {
		if msg.MT == Normal {
			p.unicast(Msg{p.self.Id, msg.Id, "proposal"}, p.peers[msg.From])
		} else if msg.MT == "agreed" {
			p.log_writer.WriteString(msg.Id + " \n")
			p.log_writer.Flush()
		} else if msg.MT == "proposal" {
			if p.msgs[msg.Id].answers++; p.msgs[msg.Id].answers == p.groupSize {
				p.multicast(&Msg{p.self.Id, msg.Id, "agreed"})
			}
		}
	}
}
