package video

// Dolby says how the numbers of a Dolby Vision source without a compatible base
// layer (profile 5) stand for colours. Signals are normalised to 0…1.
type Dolby struct {
	Curves [3]Curve   `json:"curves"` // of luma and the two chroma components
	Matrix [9]float64 `json:"matrix"` // from the reshaped components to LMS cone responses, in PQ
	Offset [3]float64 `json:"offset"` // subtracted before the matrix
	Mix    [9]float64 `json:"mix"`    // between the cone responses, in linear light
}

// Curve reshapes one component, in segments.
type Curve struct {
	Pivots []float64 `json:"pivots"` // where the segments begin, and where the last one ends
	Pieces []Reshape `json:"pieces"`
}

// Reshape is a polynomial of its own component, or, if Order is not zero, of all
// three components and their products.
type Reshape struct {
	Coefficients []float64 `json:"coefficients"` // from the constant up
	Order        int       `json:"order,omitempty"`
}
