// Command s3server is the S3 server of the tests: versitygw on a folder. It takes those
// flags of versitygw's own command that the tests need. That command also compiles the
// clients of other storages and its integration tests, which takes twice as long.
//
// It is a module of its own, so that nothing of it becomes a dependency of Spool. Its
// versions of the libraries that Spool uses as well are the same, so that they are
// compiled once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "versitygw:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	port := flag.String("port", "127.0.0.1:7070", "the `ADDRESS` of the S3 API")
	region := flag.String("region", "us-east-1", "where the server claims to be")
	domain := flag.String("virtual-domain", "", "the `DOMAIN` below which each bucket has a host")
	health := flag.String("health", "", "the `PATH` that answers without an account")
	origin := flag.String("cors-allow-origin", "", "the `ORIGIN` of pages that may use it")
	keepAlive := flag.Bool("keep-alive", false, "keep connections open")
	quiet := flag.Bool("quiet", false, "do not print requests")
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() != 2 || flag.Arg(0) != "posix" {
		return errors.New("it needs the arguments posix and a folder; see --help")
	}
	dir := flag.Arg(1)
	// Only files with extended attributes can keep what S3 knows of an object.
	if err := (meta.XattrMeta{}).Test(dir); err != nil {
		return fmt.Errorf("%s: extended attributes: %w", dir, err)
	}
	files, err := posix.New(dir, meta.XattrMeta{}, options())
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, files, &embedgw.Config{
		RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
		Ports:             []string{*port},
		Region:            *region,
		VirtualDomain:     *domain,
		CORSAllowOrigin:   *origin,
		HealthPath:        *health,
		KeepAlive:         *keepAlive,
		Quiet:             *quiet,
		MaxConnections:    250_000,
		MaxRequests:       100_000,
		MultipartMaxParts: 10_000,
	})
}

func usage() {
	fmt.Fprintln(flag.CommandLine.Output(), `Serves S3 from a folder, for tests. ROOT_ACCESS_KEY and ROOT_SECRET_KEY are the account.

usage: versitygw [flags] posix FOLDER`)
	flag.PrintDefaults()
}

// options are those that versitygw's own command has without flags.
func options() posix.PosixOpts {
	o := posix.PosixOpts{Concurrency: 5000, IOBufferSize: 1 << 20, CopyObjectThreshold: 5 << 30}
	o.SetNewDirPerm(0o755)
	o.SetNewFilePerm(0o644)
	return o
}
