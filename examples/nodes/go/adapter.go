package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

type method = func(process int, text string)

// ends has the end of each answer. The node knows `reply`, which is no input: what follows it is.
var ends = map[string]string{"init": "ok replies\n", "send": "ok\n", "packet": "ok\n"}

// run is a program that speaks lines, of any node. The node is started with what it acts through, transmit and deliver,
// and gives its two methods.
func run(start func(me, n int, transmit method, deliver func(message string)) (onSend, onPacket method)) {
	var onSend, onPacket method
	var replies []func() // which wait for a delivery
	transmit := func(to int, body string) { fmt.Println("packet", to, body) }
	deliver := func(message string) {
		fmt.Println("deliver", message)
		if next := replies; len(next) > 0 {
			replies = next[1:]
			next[0]()
		}
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := append(strings.SplitN(in.Text(), " ", 3), "", "")
		number, _ := strconv.Atoi(words[1])
		switch words[0] {
		case "init":
			n, _ := strconv.Atoi(words[2])
			replies = nil
			onSend, onPacket = start(number, n, transmit, deliver)
		case "send":
			onSend(number, words[2])
		case "packet":
			onPacket(number, words[2])
		case "reply":
			replies = append(replies, func() { onSend(number, words[2]) })
		}
		fmt.Print(ends[words[0]])
	}
}
