// Drives dedis/tlc, go/dist: broadcastTLC and receiveCausal of Node, as a test file in their package dist.
package dist

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

var node, replies, texts = &Node{}, []string{}, [9][9]string{} // texts[k][i]: the i-th message of process k

// link is a connection. Every message is a proposal of step 0: their upper layer acknowledges it when it is delivered.
type link int

func (l link) Send(m *Message) {
	if m.Typ != Ack {
		body, _ := json.Marshal(m)
		fmt.Println("packet", int(l), texts[m.From][m.Seq], string(body))
		return
	}
	node.stepLog[l] = nil // the next message of that process is of step 0 too
	fmt.Println("deliver", texts[l][m.Prop])
	if next := replies; len(next) > 0 {
		replies = next[1:]
		send(next[0])
	}
}

func send(message string) {
	texts[node.self][len(node.seqLog[node.self])] = message
	node.broadcastTLC()
}

func TestMain(*testing.M) {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := append(strings.SplitN(in.Text(), " ", 4), "", "")
		switch words[0] {
		case "init":
			var me, n int
			fmt.Sscan(words[1]+" "+words[2], &me, &n)
			node, replies = &Node{}, nil
			node.init(me, []peer{link(0), link(1), link(2), link(3), link(4), link(5)}[:n])
			node.tmpl.Step = 0
		case "send":
			send(words[2])
		case "packet":
			m := &Message{}
			json.Unmarshal([]byte(words[3]), m)
			texts[m.From][m.Seq] = words[2]
			node.receiveCausal(m)
		case "reply":
			replies = append(replies, words[2])
		}
		fmt.Print(map[string]string{"init": "ok replies\n", "send": "ok\n", "packet": "ok\n"}[words[0]])
	}
}
