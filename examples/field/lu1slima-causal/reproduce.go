// As a test file in their package CO: two processes, whose reliable broadcast hands on what is sent, in order.
package CausalOrderBroadcast

import (
	. "SD/BEB"
	. "SD/RB"
	"os"
	"strings"
	"testing"
)

func TestMessageOvertakesItsCause(*testing.T) {
	output := os.Stdout
	os.Stdout = nil // where their code prints
	addresses := []string{"a0", "a2", "a3"}
	create := func(id int) *COBroadcast_Module {
		rb := EagerReliableBroadcast_Module{Beb: &BestEffortBroadcast_Module{Req: make(chan BestEffortBroadcast_Req_Message, 9)}}
		return &COBroadcast_Module{Id: id, RB: &rb, Ind: make(chan COBroadcast_Ind_Message, 9),
			pending: createPendings(addresses), vector: createVector(addresses)}
	}
	send := func(p *COBroadcast_Module, text string) COBroadcast_Ind_Message {
		p.Broadcast(COBroadcast_Req_Message{Addresses: []string{"all"}, Message: text + "§a"})
		return COBroadcast_Ind_Message{Message: (<-p.RB.Beb.Req).Message}
	}
	p1, p2 := create(0), create(2)
	m1 := send(p1, "m1")
	send(p1, "m2")
	p2.Deliver(m1)
	<-p2.Ind // the application of P2 has seen m1, and answers
	m3 := send(p2, "m3")
	p1.Deliver(m3)
	p1.Deliver(m1)
	for range []int{1, 2} {
		output.WriteString("P1 delivers " + strings.Split((<-p1.Ind).Message, "§")[0] + "\n")
	}
}
