package main

// onePass is wrong: it looks once at each message that waits, and one that a later delivery lets through waits on.
type onePass struct{ *matrix }

func (m onePass) onPacket(from int, body string) {
	m.hold(from, body)
	var waiting []packet
	for _, held := range m.waiting {
		if m.isReady(held) {
			m.take(held)
		} else {
			waiting = append(waiting, held)
		}
	}
	m.waiting = waiting
}
