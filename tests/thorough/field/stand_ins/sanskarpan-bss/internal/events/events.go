package events

type EventType int

const (
	EvtReceive EventType = iota
	EvtDelivered
	EvtMarkerReceived
)

type Event struct {
	Type    EventType
	Message struct{ Data interface{} }
}

type EventBus struct{ Events chan Event }

func NewEventBus() *EventBus                         { return &EventBus{make(chan Event, 9)} }
func (b *EventBus) Subscribe([]EventType) chan Event { return b.Events }
func (b *EventBus) Stop()                            {}
