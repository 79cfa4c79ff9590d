package sandbox

import (
	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Access rights of Landlock rules. The library's own RODirs and RWDirs would
// also allow to execute.
const (
	readFile   = llsys.AccessFSReadFile
	readFolder = llsys.AccessFSReadFile | llsys.AccessFSReadDir
	execute    = llsys.AccessFSReadFile | llsys.AccessFSExecute
	useDevice  = llsys.AccessFSReadFile | llsys.AccessFSWriteFile | llsys.AccessFSIoctlDev
	// Plain files only: no links, pipes, devices or folders. None can be removed
	// or replaced: one that is still open would take disk space that nobody sees.
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
func restrictFiles(p Policy, bin program) error {
	abi, err := llsys.LandlockGetABIVersion()
	if err := judgeLandlock(abi, err); err != nil {
		return err
	}
	rules := []landlock.Rule{
		landlock.PathAccess(readFolder, libraries...).IgnoreIfMissing(),
		landlock.PathAccess(readFile, systemFiles...).IgnoreIfMissing(),
		landlock.PathAccess(readFile|llsys.AccessFSWriteFile, "/dev/null"),
		landlock.PathAccess(readFolder, bin.Libraries...),
		landlock.PathAccess(execute, bin.Path),
		landlock.PathAccess(readFile, p.Read...),
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
	return landlock.V11.BestEffort().Restrict(rules...)
}
