// Drives yaomingming66/cs425-mps, lib/mp1: a Group with its total order, as a test file in their package multicast.
package multicast

import (
	"bufio"
	"fmt"
	"github.com/google/uuid"
	"io"
	"math/rand"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
)

var packets [9]string // to each process, since their multicast goes through a map of these

type link struct { // takes what is written to a peer
	net.Conn
	to int
}

func (l link) Write(line []byte) (int, error) {
	packets[l.to] += fmt.Sprint("packet ", l.to, " ", string(line))
	return len(line), nil
}

func TestMain(*testing.M) {
	logger.Logger.SetOutput(io.Discard)
	group, updates := &Group{}, make(chan interface{})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println(strings.Join(packets[:], "") + "ok") {
		words := append(strings.SplitN(in.Text(), " ", 3), "", "")
		switch packets = [9]string{}; words[0] {
		case "init": // as Start, without sockets
			uuid.SetRand(rand.New(rand.NewSource(1)))
			group, updates = NewGroupBuilder().WithSelfNodeID(words[1]).Build(), make(chan interface{})
			for k := 0; fmt.Sprint(k) != words[2]; k++ {
				group.B().AddMember(fmt.Sprint(k), &TCPClient{connection: link{to: k}})
			}
			group.TO().Bind("", func(msg *TOMsg) error {
				_, err := fmt.Println("deliver", strings.Trim(string(msg.Body), `"`))
				return err
			})
			group.TO().waitVotesChannel = make(chan *ProposalItem, 9)
			group.TO().bindTODeliver()
			group.R().bindRDeliver()
			go group.TO().collectVotes(updates)
		case "send":
			group.TO().Multicast("", words[2])
		case "packet": // as their handleConn; what seems to be from itself is not repeated by reliable multicast
			msg, _ := (&BMsg{}).Decode([]byte(words[2]))
			msg.SrcID = group.SelfNodeID
			for group.B().router.Run(msg.Path, msg); len(group.TO().waitVotesChannel) > 0; runtime.Gosched() {
			}
			updates <- 1 << 30 // is received when the vote has been counted, and changes nothing
		}
	}
}
