package api

const (
	// smallBody is the size up to which a body needs no slot. Sensible requests are smaller, so
	// they do not wait for large bodies of others.
	smallBody = 32 << 10
	// maxLargeBodies and maxLargeBodiesPerKey are how many larger bodies are read and decoded at
	// once. Each takes up to maxBody, and about as much again while it is decoded.
	maxLargeBodies       = 16
	maxLargeBodiesPerKey = 4
)

// newBodySlots limits how many large bodies are in memory at the same time. A client that sends
// slowly does not take the slots of the others.
func newBodySlots() *slots {
	return newSlots(maxLargeBodies, maxLargeBodiesPerKey, "This API key sends too many large request bodies at once.",
		"The server reads as many large request bodies as it can. Try again later.")
}
