package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openFiles is how many files a program may have open at once; ffmpeg needs
// about ten.
const openFiles = 64

// stackSize is what a thread may use as its stack: the usual limit. Where there
// is none, the stack would be memory without limit.
const stackSize = 8 << 20

// grace is the processor time between the signal that asks a program to end and
// the one that kills it.
const grace = 5 * time.Second

// init turns the process into the program if it was started as a helper. A helper never reaches main.
func init() {
	if !Asked() {
		return
	}
	// Most restrictions apply to one thread, and this is the one that becomes
	// the program.
	runtime.LockOSThread()
	if err := enter(os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "sandbox: %v\n", err)
		os.Exit(ExitRefused)
	}
}

// enter gives up all rights that the order does not grant and becomes the
// program. It returns if that fails.
func enter(args []string) error {
	o, err := readOrder(args)
	if err != nil {
		return err
	}
	if err := o.confineSelf(); err != nil {
		return err
	}
	if o.Check {
		if err := o.Policy.check(); err != nil {
			return err
		}
		os.Exit(0)
	}
	if err := syscall.Exec(o.Program.Path, args[3:], Environment); err != nil {
		return fmt.Errorf("start %s: %w", o.Program.Path, err)
	}
	return nil
}

// readOrder reads the order in the arguments of a helper.
func readOrder(args []string) (o Order, err error) {
	if len(args) < 4 {
		return o, errors.New("this command is for the server itself; it is of no use by hand")
	}
	if err := json.Unmarshal([]byte(args[2]), &o); err != nil {
		return o, fmt.Errorf("read the order: %w", err)
	}
	return o, nil
}

// confineSelf applies all layers. The memory limit comes late, because this
// program itself may already use more, and the filter last, because it forbids
// the calls that the other steps need.
func (o *Order) confineSelf() error {
	if err := dieWith(o.Server); err != nil {
		return err
	}
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited files: %w", err)
	}
	o.Policy.LowerPriority(0)
	if err := o.Policy.limit(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := restrictFiles(o.Policy, o.Program); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if o.Policy.Memory > 0 {
		if err := o.Policy.limitMemory(); err != nil {
			return fmt.Errorf("limit memory: %w", err)
		}
	}
	if err := restrictCalls(o.Policy); err != nil {
		return fmt.Errorf("restrict system calls: %w", err)
	}
	return nil
}

// dieWith asks for a SIGKILL when the server dies. The request made at the fork
// belongs to the first thread of this process, which may be another one.
func dieWith(server int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("ask to be killed with the server: %w", err)
	}
	if os.Getppid() != server {
		return errors.New("the server is gone")
	}
	return nil
}

// limit sets all limits except for the memory.
func (p Policy) limit() error {
	if err := setLimit(unix.RLIMIT_CORE, 0, 0); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	if err := setLimit(unix.RLIMIT_STACK, stackSize, stackSize); err != nil {
		return fmt.Errorf("limit the stack: %w", err)
	}
	if err := setLimit(unix.RLIMIT_NOFILE, openFiles, openFiles); err != nil {
		return fmt.Errorf("limit open files: %w", err)
	}
	if p.FileSize > 0 {
		if err := setLimit(unix.RLIMIT_FSIZE, p.FileSize, p.FileSize); err != nil {
			return fmt.Errorf("limit file size: %w", err)
		}
	}
	if p.CPU > 0 {
		seconds := int64(math.Ceil(p.CPU.Seconds()))
		if err := setLimit(unix.RLIMIT_CPU, seconds, seconds+int64(grace.Seconds())); err != nil {
			return fmt.Errorf("limit CPU time: %w", err)
		}
	}
	return nil
}

// limitMemory limits what the program allocates. The kernel's tables of what it
// maps are not counted, so the addresses that it may use are limited, too: far
// above its data and the code of its libraries. Drivers of graphics hardware
// reserve addresses at will.
func (p Policy) limitMemory() error {
	const code = 8 << 30
	err := setLimit(unix.RLIMIT_DATA, p.Memory, p.Memory)
	if len(p.Devices) == 0 {
		err = errors.Join(err, setLimit(unix.RLIMIT_AS, p.Memory+code, p.Memory+code))
	}
	return err
}

// setLimit sets a limit, or keeps the server's limit if it is lower: only root may
// raise one.
func setLimit(resource int, soft, hard int64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	ceiling := min(uint64(hard), now.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: min(uint64(soft), ceiling), Max: ceiling})
}

// dropCapabilities takes the capabilities of root, which servers in containers
// often run as. Those about the owners of files stay, so that scratch files of
// another owner can be used; Landlock decides which files these may be.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now [2]unix.CapUserData // 32 capabilities each
	if err := unix.Capget(&header, &now[0]); err != nil {
		return err
	}
	const kept = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	left := [2]unix.CapUserData{{Effective: now[0].Effective & kept, Permitted: now[0].Permitted & kept}}
	return unix.Capset(&header, &left[0])
}
