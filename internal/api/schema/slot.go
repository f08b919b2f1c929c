package schema

// EventSlot is the reusable memory of one event of a frequent kind.
type EventSlot struct {
	Event    Event
	Granted  Event_Granted
	Queued   Event_Queued
	Refused  Event_Refused
	Released Event_Released
	Beat     Event_Beat
}

// NewEventSlot returns memory with allocated bodies.
func NewEventSlot() *EventSlot {
	s, bodies := &EventSlot{}, &struct {
		granted  Granted
		queued   Queued
		refused  Refused
		released Released
		beat     Beaten
	}{}
	s.Granted.Granted, s.Queued.Queued, s.Refused.Refused = &bodies.granted, &bodies.queued, &bodies.refused
	s.Released.Released, s.Beat.Beat = &bodies.released, &bodies.beat
	return s
}
