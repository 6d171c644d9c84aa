package lamport

type LampClock struct{ Counter byte }

func NewLamportClock(string) LampClock          { return LampClock{} }
func (c *LampClock) Increment()                 { c.Counter++ }
func (c *LampClock) Serialize() ([]byte, error) { return []byte{c.Counter}, nil }
