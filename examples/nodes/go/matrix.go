// Causal order by matrices of numbers of messages (Raynal, Schiper & Toueg).
//
//	go build -o matrix adapter.go matrix.go one_pass.go
//	crownless conform --order causal -- ./matrix
//	crownless conform --order causal -- ./matrix -one-pass
//
// Wrong is -one-pass, which looks only once at each message that waits.
package main

import (
	"encoding/json"
	"flag"
)

type matrix struct {
	me        int
	sent      [][]int // sent[k][j]: the messages that k has sent to j, as far as is known here
	delivered []int   // delivered[k]: the messages of k that were delivered here
	waiting   []packet
	transmit  func(to int, body string)
	deliver   func(message string)
}

type packet struct {
	From    int `json:"-"`
	Message string
	Stamp   [][]int
}

func newMatrix(me, n int, transmit func(int, string), deliver func(string)) *matrix {
	m := &matrix{me: me, sent: make([][]int, n), delivered: make([]int, n), transmit: transmit, deliver: deliver}
	for k := range m.sent {
		m.sent[k] = make([]int, n)
	}
	return m
}

func (m *matrix) onSend(to int, message string) {
	body, err := json.Marshal(packet{Message: message, Stamp: m.sent})
	if err != nil {
		panic(err)
	}
	m.transmit(to, string(body))
	m.sent[m.me][to]++
}

func (m *matrix) onPacket(from int, body string) {
	m.hold(from, body)
	for i := 0; i < len(m.waiting); i++ {
		if next := m.waiting[i]; m.isReady(next) {
			m.waiting = append(m.waiting[:i], m.waiting[i+1:]...)
			m.take(next)
			i = -1 // from the first again: another one may be ready now
		}
	}
}

func (m *matrix) hold(from int, body string) {
	held := packet{From: from}
	if err := json.Unmarshal([]byte(body), &held); err != nil {
		panic(err)
	}
	m.waiting = append(m.waiting, held)
}

func (m *matrix) isReady(p packet) bool {
	for k, delivered := range m.delivered {
		if p.Stamp[k][m.me] > delivered {
			return false
		}
	}
	return true
}

func (m *matrix) take(p packet) {
	m.delivered[p.From]++
	p.Stamp[p.From][m.me]++ // it counts what came before the message, and now the message too
	for k, row := range p.Stamp {
		for j, count := range row {
			if count > m.sent[k][j] {
				m.sent[k][j] = count
			}
		}
	}
	m.deliver(p.Message) // last, since the application may send from there
}

func main() {
	wrong := flag.Bool("one-pass", false, "look only once at each message that waits")
	flag.Parse()
	run(func(me, n int, transmit method, deliver func(string)) (onSend, onPacket method) {
		m := newMatrix(me, n, transmit, deliver)
		if *wrong {
			return m.onSend, onePass{m}.onPacket
		}
		return m.onSend, m.onPacket
	})
}
