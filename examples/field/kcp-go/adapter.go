// Drives xtaci/kcp-go: a KCP per peer (Send, Input, Recv, flush), as a test file in their package kcp.
package kcp

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// connections makes a state machine for each peer, set as their README recommends for low latency.
func connections(n int) []*KCP {
	peers := make([]*KCP, n)
	for k := range peers {
		to := k
		peers[k] = NewKCP(1, func(data []byte, size int) { fmt.Println("packet", to, hex.EncodeToString(data[:size])) })
		peers[k].NoDelay(1, 10, 2, 1)
	}
	return peers
}

func TestMain(*testing.M) {
	var peers []*KCP
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := append(strings.SplitN(in.Text(), " ", 3), "", "")
		number, _ := strconv.Atoi(words[1])
		switch words[0] {
		case "init":
			refTime = time.Time{} // in the year 1: their clock, which would overflow, stands still
			n, _ := strconv.Atoi(words[2])
			peers = connections(n)
		case "send": // as Write of their session
			peers[number].Send([]byte(words[2]))
			peers[number].flush(false)
		case "packet": // as their session takes a datagram, and as Read takes what it has completed
			data, _ := hex.DecodeString(words[2])
			peers[number].Input(data, true, true)
			for size := peers[number].PeekSize(); size > 0; size = peers[number].PeekSize() {
				message := make([]byte, size)
				peers[number].Recv(message)
				fmt.Println("deliver", string(message))
			}
		}
		fmt.Println("ok")
	}
}
