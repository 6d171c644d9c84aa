// Drives krithikvaidya/distsys-implementations, causal_broadcast: ListenForMessages, as a test file beside their main.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var texts map[string]string // by the sender and the clock of a message, as their log prints them
var delivery = regexp.MustCompile(`elivered .*message from (PID: .*)\.`)

// output takes their log, where a delivery is one line.
type output struct{}

func (output) Write(line []byte) (int, error) {
	if found := delivery.FindStringSubmatch(string(line)); found != nil {
		fmt.Println("deliver", texts[found[1]])
	}
	return len(line), nil
}

func TestMain(*testing.M) {
	log.SetOutput(output{})
	var clock *Vector_Clock
	var wire net.Conn
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("ok") {
		words := append(strings.SplitN(in.Text(), " ", 4), "", "")
		switch words[0] {
		case "init":
			me, _ := strconv.Atoi(words[1])
			n_proc, _ = strconv.Atoi(words[2])
			clock, texts = InitializeClock(n_proc, me), map[string]string{}
			there, here := net.Pipe()
			wire = here
			go clock.ListenForMessages(there)
			wire.Write([]byte("{")) // the first byte of the first message
		case "send": // as their CreateMessages, without its pauses
			clock.Causal_time[clock.PID]++
			body, _ := json.Marshal(map[string][]int{"pid": {clock.PID}, "clock": clock.Causal_time})
			for _, to := range strings.Split(words[1], ",") {
				fmt.Println("packet", to, words[2], string(body))
			}
		case "packet": // the first byte of the next message is read when this one has been handled
			var m map[string][]int
			json.Unmarshal([]byte(words[3]), &m)
			texts[fmt.Sprintf("PID: %v with clock %v", m["pid"][0], m["clock"])] = words[2]
			wire.Write(append([]byte(words[3]), make([]byte, 256-len(words[3]))...)[1:])
			wire.Write([]byte("{"))
		}
	}
}
