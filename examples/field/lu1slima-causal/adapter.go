// Drives Lu1sLima/causal-order-broadcast: Broadcast and Deliver of COBroadcast_Module, as a test file in their package CO.
package CausalOrderBroadcast

import (
	. "SD/BEB"
	. "SD/RB"
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Of a group of four, process 1 takes no part, since Deliver sleeps there.
var ids, addresses = []int{0, 2, 3}, []string{"a0", "a1", "a2", "a3"}

// deliver takes one of the ways in which they may go through the map of pending messages: the first in the alphabet.
func deliver(cob *COBroadcast_Module, packet string) (after *COBroadcast_Module, delivered string) {
	for try, way := 0, ""; try <= 1000*len(cob.pending); try, way = try+1, "" {
		c := *cob
		c.Ind, c.vector, c.pending = make(chan COBroadcast_Ind_Message, 9), append([]int{}, cob.vector...), createPendings(nil)
		for key, value := range cob.pending {
			c.pending[key] = value
		}
		c.Deliver(COBroadcast_Ind_Message{Message: packet})
		for len(c.Ind) > 0 {
			way += "deliver " + strings.Split((<-c.Ind).Message, "§")[0] + "\n"
		}
		if try == 0 || way < delivered {
			after, delivered = &c, way
		}
	}
	return after, delivered
}

func TestMain(*testing.M) {
	answers, cob, delivered, me, n := os.Stdout, &COBroadcast_Module{}, "", 0, 0
	os.Stdout = nil // where their code prints
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Fprintln(answers, "ok") {
		words := append(strings.SplitN(in.Text(), " ", 3), "", "")
		switch words[0] {
		case "init": // as NewCOB, but for the layers with sockets: channel Req has what reliable broadcast would send
			fmt.Sscan(words[1]+" "+words[2], &me, &n)
			rb := EagerReliableBroadcast_Module{Beb: &BestEffortBroadcast_Module{Req: make(chan BestEffortBroadcast_Req_Message, 9)}}
			cob = &COBroadcast_Module{Id: ids[me], RB: &rb, pending: createPendings(addresses), vector: createVector(addresses)}
		case "send": // as their main and Start; reliable broadcast asks for equal copies, and delivers one of them
			text := words[2] + "§" + addresses[cob.Id]
			for cob.Broadcast(COBroadcast_Req_Message{Addresses: addresses, Message: text}); len(cob.RB.Beb.Req) > 0; {
				text = (<-cob.RB.Beb.Req).Message
			}
			for to := range ids[:n] {
				fmt.Fprintln(answers, "packet", to, text)
			}
		case "packet":
			cob, delivered = deliver(cob, words[2])
			fmt.Fprint(answers, delivered)
		}
	}
}
