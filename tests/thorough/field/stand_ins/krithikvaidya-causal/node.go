// A stand-in for theirs: causal broadcast with vector clocks, whose deliveries are lines of the log.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"strings"
)

var n_proc int

type Vector_Clock struct {
	PID         int
	Causal_time []int
}

func InitializeClock(n, me int) *Vector_Clock { return &Vector_Clock{me, make([]int, n)} }

func (c *Vector_Clock) isReady(from int, clock []int) bool {
	for k, count := range clock {
		if known := c.Causal_time[k]; count > known+1 || (k != from && count > known) {
			return false
		}
	}
	return true
}

func (c *Vector_Clock) ListenForMessages(conn net.Conn) {
	var waiting []map[string][]int
	for frame := make([]byte, 256); ; {
		io.ReadFull(conn, frame)
		m := map[string][]int{}
		json.Unmarshal([]byte(strings.TrimRight(string(frame), "\x00")), &m)
		waiting = append(waiting, m)
		for i := 0; i < len(waiting); i++ {
			if from, clock := waiting[i]["pid"][0], waiting[i]["clock"]; c.isReady(from, clock) {
				waiting = append(waiting[:i], waiting[i+1:]...)
				c.Causal_time[from]++
				log.Printf("delivered message from PID: %v with clock %v.", from, clock)
				i = -1
			}
		}
	}
}
