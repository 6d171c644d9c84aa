// Package dist is a stand-in for theirs: causal broadcast by numbers of messages.
package dist

type Message struct {
	From, Seq, Prop, Typ, Step int
	Vec                        []int
}

const Ack = 1

type peer interface{ Send(*Message) }

type Node struct {
	self    int
	peers   []peer
	stepLog [][]int
	seqLog  [][]*Message
	tmpl    Message
	held    []*Message
}

func (n *Node) init(self int, peers []peer) {
	*n = Node{self: self, peers: peers, stepLog: make([][]int, len(peers)), seqLog: make([][]*Message, len(peers))}
}

func (n *Node) broadcastTLC() {
	m := &Message{From: n.self, Seq: len(n.seqLog[n.self])}
	for _, delivered := range n.seqLog {
		m.Vec = append(m.Vec, len(delivered))
	}
	n.deliver(m)
	for to, link := range n.peers {
		if to != n.self {
			link.Send(m)
		}
	}
}

func (n *Node) deliver(m *Message) {
	n.seqLog[m.From] = append(n.seqLog[m.From], m)
	n.peers[m.From].Send(&Message{Typ: Ack, Prop: m.Seq})
}

func (n *Node) receiveCausal(m *Message) {
	n.held = append(n.held, m)
	for i := 0; i < len(n.held); i++ {
		if next := n.held[i]; n.isReady(next) {
			n.held = append(n.held[:i], n.held[i+1:]...)
			n.deliver(next)
			i = -1
		}
	}
}

func (n *Node) isReady(m *Message) bool {
	for k, count := range m.Vec {
		if count > len(n.seqLog[k]) {
			return false
		}
	}
	return true
}
