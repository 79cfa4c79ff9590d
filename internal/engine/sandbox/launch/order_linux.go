package launch

import (
	"encoding/json"
	"fmt"
	"os"
)

// helperArgument as the first argument makes the server's program the helper.
const helperArgument = "sandbox-exec"

// Order is what the server tells the helper, as JSON in its second argument;
// the program's own arguments follow.
type Order struct {
	Server  int // process ID
	Policy  Policy
	Program Program
	Check   bool // look whether the layers are on instead of becoming the program
}

// Program is what has to be accessible for a binary to start.
type Program struct {
	Path      string
	Loader    string   // starts it and loads its libraries; "" when it is linked statically
	Libraries []string // folders that it names itself, in addition to the system's
}

// Args returns the arguments of a helper that carries out an order. args are the
// program's arguments, with its name.
func (o *Order) Args(args []string) ([]string, error) {
	encoded, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode the order for the sandbox: %w", err)
	}
	return append([]string{"spool-sandbox", helperArgument, string(encoded)}, args...), nil
}

// Asked reports whether this process was started as a helper.
func Asked() bool { return len(os.Args) > 1 && os.Args[1] == helperArgument }
