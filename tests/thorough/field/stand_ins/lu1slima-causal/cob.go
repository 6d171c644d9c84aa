// Package CausalOrderBroadcast is a stand-in for theirs, wrong in the same way: a message shares the clock of its sender.
package CausalOrderBroadcast

import (
	. "SD/BEB"
	. "SD/RB"
	"encoding/json"
	"strings"
)

type COBroadcast_Req_Message struct {
	Addresses []string
	Message   string
}

type COBroadcast_Ind_Message struct{ Message string }

type COBroadcast_Module struct {
	Id, sent int
	RB       *EagerReliableBroadcast_Module
	Ind      chan COBroadcast_Ind_Message
	pending  map[string]string
	vector   []int
}

func createPendings([]string) map[string]string { return map[string]string{} }
func createVector(addresses []string) []int     { return make([]int, len(addresses)) }

func (c *COBroadcast_Module) Broadcast(message COBroadcast_Req_Message) {
	stamp := c.vector
	stamp[c.Id] = c.sent
	c.sent++
	text, _ := json.Marshal(stamp)
	c.RB.Beb.Req <- BestEffortBroadcast_Req_Message{Message: message.Message + "§" + string(rune('0'+c.Id)) + "§" + string(text)}
}

func (c *COBroadcast_Module) Deliver(message COBroadcast_Ind_Message) {
	c.pending[message.Message] = ""
	for ready := true; ready; {
		ready = false
		for text := range c.pending {
			fields, stamp := strings.Split(text, "§"), []int{}
			json.Unmarshal([]byte(fields[3]), &stamp)
			if ready = stamp[0] <= c.vector[0] && stamp[2] <= c.vector[2] && stamp[3] <= c.vector[3]; ready {
				delete(c.pending, text)
				c.vector[fields[2][0]-'0']++
				c.Ind <- COBroadcast_Ind_Message{text}
				break
			}
		}
	}
}
