package video

// Dolby says how the numbers of a Dolby Vision film stand for colours that has
// no ordinary picture underneath (profile 5). Signals are normalised to 0…1.
type Dolby struct {
	Curves [3]Curve   `json:"curves"` // of brightness and the two colour components
	Matrix [9]float64 `json:"matrix"` // from the reshaped components to the responses of the eye, in PQ
	Offset [3]float64 `json:"offset"` // subtracted before the matrix
	Mix    [9]float64 `json:"mix"`    // between the responses, in linear light
}

// Curve reshapes one component, piece by piece.
type Curve struct {
	Pivots []float64 `json:"pivots"` // where the pieces begin, and where the last one ends
	Pieces []Reshape `json:"pieces"`
}

// Reshape is a polynomial of its own component, or, where Order is not zero, of
// all three components and their products.
type Reshape struct {
	Coefficients []float64 `json:"coefficients"` // from the constant up
	Order        int       `json:"order,omitempty"`
}
