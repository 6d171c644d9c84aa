// Causal order by matrices of numbers of messages (Raynal, Schiper & Toueg).
//
//	go build -o matrix matrix.go
//	crownless conform --order causal -- ./matrix
//	crownless conform --order causal -- ./matrix -one-pass
//
// Wrong is -one-pass, which looks once at each message that waits; one that a later delivery lets through stays.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

var onePass = len(os.Args) > 1 && os.Args[1] == "-one-pass"

type node struct {
	me        int
	sent      [][]int // sent[k][j]: the messages that k has sent to j, as far as is known here
	delivered []int   // delivered[k]: the messages of k that were delivered here
	waiting   []packet
}

type packet struct {
	From    int `json:"-"`
	Message string
	Stamp   [][]int
}

func newNode(me, n int) *node {
	m := &node{me: me, sent: make([][]int, n), delivered: make([]int, n)}
	for k := range m.sent {
		m.sent[k] = make([]int, n)
	}
	return m
}

func (m *node) onSend(to []int, message string) {
	body, err := json.Marshal(packet{Message: message, Stamp: m.sent})
	if err != nil {
		panic(err)
	}
	for _, j := range to {
		transmit(j, string(body))
		m.sent[m.me][j]++
	}
}

func (m *node) onPacket(from int, body string) {
	m.hold(from, body)
	for i := 0; i < len(m.waiting); i++ {
		if next := m.waiting[i]; m.isReady(next) {
			m.waiting = append(m.waiting[:i], m.waiting[i+1:]...)
			m.take(next)
			i-- // the next one is here now
			if !onePass {
				i = -1 // from the first again: another one may be ready now
			}
		}
	}
}

func (m *node) hold(from int, body string) {
	held := packet{From: from}
	if err := json.Unmarshal([]byte(body), &held); err != nil {
		panic(err)
	}
	m.waiting = append(m.waiting, held)
}

func (m *node) isReady(p packet) bool {
	for k, delivered := range m.delivered {
		if p.Stamp[k][m.me] > delivered {
			return false
		}
	}
	return true
}

func (m *node) take(p packet) {
	m.delivered[p.From]++
	p.Stamp[p.From][m.me]++ // it counts what came before the message, and now the message too
	for k, row := range p.Stamp {
		for j, count := range row {
			if count > m.sent[k][j] {
				m.sent[k][j] = count
			}
		}
	}
	deliver(p.Message) // last, since the application may send from there
}

// ---- The lines that crownless reads and writes. Nothing below needs a change. ----

var answers = *os.Stdout // where nothing else is printed
var current *node
var replies []func() // what the application will send from inside deliveries

func transmit(to int, body string) {
	fmt.Fprintln(&answers, "packet", to, body)
}

func deliver(message string) {
	fmt.Fprintln(&answers, "deliver", message)
	if next := replies; len(next) > 0 {
		replies = next[1:]
		next[0]()
	}
}

func numbers(text string) (all []int) {
	for _, word := range strings.Split(text, ",") {
		number, err := strconv.Atoi(word)
		if err != nil {
			panic(err)
		}
		all = append(all, number)
	}
	return all
}

func main() {
	*os.Stdout = *os.Stderr
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		words := append(strings.SplitN(in.Text(), " ", 3), "", "")
		first, last := words[1], words[2]
		switch words[0] {
		case "init":
			current, replies = newNode(numbers(first)[0], numbers(last)[0]), nil
			fmt.Fprintln(&answers, "ok replies")
			continue
		case "reply": // not an input yet, so that it has no answer
			replies = append(replies, func() { current.onSend(numbers(first), last) })
			continue
		case "send":
			current.onSend(numbers(first), last)
		case "packet":
			current.onPacket(numbers(first)[0], last)
		default:
			panic("this adapter has nothing for " + words[0])
		}
		fmt.Fprintln(&answers, "ok")
	}
}
