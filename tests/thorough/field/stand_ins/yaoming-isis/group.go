// Package multicast is a stand-in for theirs: a sequencer, which is process 0.
package multicast

import (
	"encoding/json"
	"net"
	"node/log"
)

var logger = log.Entry{}

type (
	ProposalItem struct{}
	TCPClient    struct{ connection net.Conn }
	TOMsg        struct{ Body []byte }
	BMsg         struct {
		SrcID, Path string
		Number      int
	}
	Group struct {
		SelfNodeID       string
		peers            map[string]*TCPClient
		router           *Group
		waitVotesChannel chan *ProposalItem
		sent, next       int
		held             map[int]*BMsg
		application      func(*TOMsg) error
	}
)

func NewGroupBuilder() *Group                    { return &Group{peers: map[string]*TCPClient{}, held: map[int]*BMsg{}} }
func (g *Group) WithSelfNodeID(id string) *Group { g.SelfNodeID = id; return g }
func (g *Group) Build() *Group                   { g.router = g; return g }
func (g *Group) B() *Group                       { return g }
func (g *Group) R() *Group                       { return g }
func (g *Group) TO() *Group                      { return g }
func (g *Group) bindTODeliver()                  {}
func (g *Group) bindRDeliver()                   {}

func (g *Group) AddMember(id string, client *TCPClient) { g.peers[id] = client }
func (g *Group) Bind(_ string, f func(*TOMsg) error)    { g.application = f }
func (m *BMsg) Decode(data []byte) (*BMsg, error)       { return m, json.Unmarshal(data, m) }
func (g *Group) Multicast(_ string, text string) error {
	return g.send("0", BMsg{Path: text, Number: -1})
}

func (g *Group) collectVotes(updates chan interface{}) {
	for range updates {
	}
}

func (g *Group) send(to string, m BMsg) error {
	line, _ := json.Marshal(m)
	_, err := g.peers[to].connection.Write(append(line, '\n'))
	return err
}

func (g *Group) Run(text string, m *BMsg) {
	if m.Number < 0 {
		for to := range g.peers {
			g.send(to, BMsg{Path: text, Number: g.sent})
		}
		g.sent++
		return
	}
	for g.held[m.Number] = m; g.held[g.next] != nil; g.next++ {
		g.application(&TOMsg{[]byte(g.held[g.next].Path)})
	}
}
