package launch

import (
	"errors"
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// leastLandlock is the first version that can keep a file from being truncated
// (Linux 6.2). Newer versions are used as far as they are available.
const leastLandlock = 3

// Access rights of Landlock rules. The library's own RODirs and RWDirs would
// also allow to execute.
const (
	readFile   = llsys.AccessFSReadFile
	readFolder = llsys.AccessFSReadFile | llsys.AccessFSReadDir
	execute    = llsys.AccessFSReadFile | llsys.AccessFSExecute
	useDevice  = llsys.AccessFSReadFile | llsys.AccessFSWriteFile | llsys.AccessFSIoctlDev
	// Plain files only: no links, pipes, devices or folders. None can be removed
	// or replaced: a removed file that is still open would take disk space that is not counted.
	fillFolder = readFolder | llsys.AccessFSWriteFile | llsys.AccessFSTruncate | llsys.AccessFSMakeReg
)

var (
	// Folders of libraries, and where C libraries count the processors. Symlinks
	// out of them, such as Debian's /etc/alternatives, can be followed without
	// a rule as long as they come back.
	libraries = []string{
		"/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/nix/store", "/gnu/store",
		"/sys/devices/system",
	}
	// Files that loaders and C libraries read.
	systemFiles = []string{
		"/etc/ld.so.cache", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
		"/proc/self/status", "/proc/filesystems", "/proc/cpuinfo", "/proc/meminfo", "/dev/urandom",
	}
	// Folders in which the user-space part of a graphics driver looks up its
	// device. Only programs that may use a device can read them.
	drivers = []string{
		"/sys/dev/char", "/sys/class/drm", "/sys/devices", "/proc/driver/nvidia",
		"/usr/share/libdrm", "/usr/share/drirc.d",
	}
)

// restrictFiles closes the file system, TCP and, where the kernel can, signals
// and sockets to the outside. It also sets no_new_privs.
func restrictFiles(p Policy, bin Program) error {
	abi, err := llsys.LandlockGetABIVersion()
	if err := checkLandlock(abi, err); err != nil {
		return err
	}
	rules := []landlock.Rule{
		landlock.PathAccess(readFolder, libraries...).IgnoreIfMissing(),
		landlock.PathAccess(readFile, systemFiles...).IgnoreIfMissing(),
		landlock.PathAccess(readFile|llsys.AccessFSWriteFile, "/dev/null"),
		landlock.PathAccess(readFolder, bin.Libraries...),
		landlock.PathAccess(execute, bin.Path),
		landlock.PathAccess(readFile, p.Read...),
		landlock.PathAccess(readFolder, p.Folders...),
	}
	if bin.Loader != "" {
		rules = append(rules, landlock.PathAccess(execute, bin.Loader))
	}
	if len(p.Devices) > 0 {
		rules = append(rules,
			landlock.PathAccess(useDevice, p.Devices...).IgnoreIfMissing(),
			landlock.PathAccess(readFolder, drivers...).IgnoreIfMissing())
	}
	if p.WriteDir != "" {
		rules = append(rules, landlock.PathAccess(fillFolder, p.WriteDir))
	}
	return explainRefusal(landlock.V11.BestEffort().Restrict(rules...))
}

// explainRefusal says what a refusal of a system call means that the library takes for a mistake of its own.
func explainRefusal(err error) error {
	const mistake = "BUG(go-landlock)"
	if err == nil || len(err.Error()) < len(mistake) || err.Error()[:len(mistake)] != mistake {
		return err
	}
	return fmt.Errorf("the kernel has Landlock, but using it is refused (%w): a filter of system calls around this process, such as a container's, forbids it; allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self there, or start with --sandbox=off to run ffmpeg without protection", errors.Unwrap(err))
}

// Available returns which version of Landlock this kernel has, or why it does not
// offer enough for a sandbox.
func Available() (landlockABI int, err error) {
	abi, err := llsys.LandlockGetABIVersion()
	if err := checkLandlock(abi, err); err != nil {
		return 0, err
	}
	return abi, checkSeccomp()
}

const wayOut = "use a newer kernel, or start with --sandbox=off to run ffmpeg without protection"

// checkLandlock explains why Landlock cannot be used. The library would silently
// go on without it.
func checkLandlock(abi int, err error) error {
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("the kernel knows Landlock, but it is switched off: boot with \"landlock\" in the kernel's lsm= option, or start with --sandbox=off to run ffmpeg without protection")
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return fmt.Errorf("there is no Landlock here (%w): Linux is older than 6.2 or built without it, or the container forbids it; %s", err, wayOut)
	case err != nil:
		return fmt.Errorf("ask the kernel for Landlock: %w; %s", err, wayOut)
	case abi < leastLandlock:
		return fmt.Errorf("the kernel has version %d of Landlock, and version %d (Linux 6.2) is needed; %s", abi, leastLandlock, wayOut)
	}
	return nil
}
