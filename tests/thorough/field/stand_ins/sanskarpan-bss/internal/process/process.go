// Package process is a stand-in for theirs, wrong in the same way: each copy of a broadcast has a number of its own.
package process

import (
	"time"

	"github.com/DistributedClocks/vectorclock-system/internal/events"
)

const ClockVector, CausalDelivery = "vector", "causal"

type Message struct {
	From, Data string
	Number     int
	SentAt     time.Time
	IsMarker   bool
}

type ProcessConfig struct {
	ID, ClockType, DeliveryMode string
	Peers, AllPIDs              []string
}

type Process struct {
	cfg   ProcessConfig
	xport interface {
		Send(from, to string, m *Message) error
	}
	bus  *events.EventBus
	sent int
	seen map[string]int
}

func New(cfg ProcessConfig, xport interface {
	Send(from, to string, m *Message) error
}, bus *events.EventBus) *Process {
	return &Process{cfg: cfg, xport: xport, bus: bus, seen: map[string]int{}}
}

func (p *Process) Start() {}
func (p *Process) Stop()  {}

func (p *Process) Broadcast(data string) {
	for _, to := range p.cfg.Peers {
		p.sent++
		p.xport.Send(p.cfg.ID, to, &Message{From: p.cfg.ID, Data: data, Number: p.sent})
	}
}

func (p *Process) Deliver(m *Message) {
	e := events.Event{Type: events.EvtMarkerReceived}
	if e.Message.Data = m.Data; !m.IsMarker {
		if e.Type = events.EvtReceive; m.Number != p.seen[m.From]+1 {
			return // it would wait for the number before
		}
		p.seen[m.From]++
	}
	p.bus.Events <- e
}
