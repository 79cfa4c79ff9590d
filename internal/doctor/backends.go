package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/backend/store"
)

const (
	databaseSkew = 5 * time.Second  // Spool reckons with it, but logs are hard to read
	storageSkew  = time.Minute      // signatures of S3 are refused after 15
	probePrefix  = "work/doctor/"   // a sweep removes what is left there
	probeLife    = 15 * time.Minute // of URLs
)

// SecretsFix is what to do about a worker whose database user may read secrets.
const SecretsFix = "give workers a database user of their own, and repeat the REVOKE and GRANT statements of docs/database.md after an upgrade"

func (d *doctor) checkDatabase(ctx context.Context) {
	if d.DatabaseURL != "" {
		d.checkPostgres(ctx)
		return
	}
	path := filepath.Join(d.DataDir, datadir.Database)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.ok("SQLite; the first start of spool serve makes %s", path)
		return
	}
	if err := datadir.Forbidden(path, nil); err != nil {
		d.fail(folderFix(err), "%v", err)
		return
	}
	e, err := store.ExamineSQLite(ctx, path)
	if err != nil {
		d.fail("if the file is damaged, restore a backup into an empty data directory (spool restore); the log of the kernel says whether the disk fails", "%v", err)
		return
	}
	d.ok("SQLite %s in %s", e.Version, path)
}

func (d *doctor) checkPostgres(ctx context.Context) {
	const help = "see docs/database.md for what the database and its user need"
	e, err := store.ExaminePostgres(ctx, d.DatabaseURL)
	if err != nil {
		d.fail(help, "%v", err)
		return
	}
	switch {
	case e.Encoding != "UTF8":
		d.fail("create the database with ENCODING 'UTF8'", "the encoding of the database is %s", e.Encoding)
	case e.ReadOnly:
		d.fail("name the primary in database_url, or several hosts and target_session_attrs=read-write", "the server is a standby, which only reads")
	case !e.MayCreate && d.ServesRequests:
		d.fail("make the user the owner of the database", "the user may not create tables, which a new version needs")
	default:
		d.ok("PostgreSQL %s keeps our sessions", e.Version)
	}
	if !d.ServesRequests && len(e.Secrets) > 0 {
		d.warn(SecretsFix, "the database user of this worker can read %s", strings.Join(e.Secrets, ", "))
	}
	if skew := d.now().Sub(e.Now); skew.Abs() > databaseSkew {
		d.warn("let both machines set their clocks by NTP", "the clocks of this machine and of the database differ by %s", skew.Abs().Round(time.Second))
	}
}

func (d *doctor) checkStorage(ctx context.Context) {
	if d.StorageURL != "" {
		d.checkBucket(ctx)
		return
	}
	dir := datadir.Existing(filepath.Join(d.DataDir, datadir.Objects))
	if err := probeDisk(dir); err != nil {
		d.fail(folderFix(err), "%v", err)
		return
	}
	d.ok("a file in %s can be written, linked, read and deleted", dir)
}

// errNoLinks means that a file system has no hard links.
var errNoLinks = errors.New("files are copied by hard links, which do not work here")

// folderFix says what to do about a folder that cannot be used.
func folderFix(err error) string {
	switch {
	case errors.Is(err, errNoLinks):
		return "choose a data_dir on a file system with hard links, such as ext4 or xfs"
	case errors.Is(err, syscall.EROFS):
		return "mount the file system for writing, or choose another data_dir"
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return "remove something from the disk, or make it larger"
	case errors.Is(err, fs.ErrPermission):
		return "run Spool as the owner of the data directory, or give the directory to its user (chown -R), or choose another data_dir"
	}
	return "look at the log of the kernel: the disk may be failing; or choose another data_dir"
}

// probeDisk writes, links, reads and deletes a file. No object has a name that begins with a dot.
func probeDisk(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	link := f.Name() + "-link"
	defer os.Remove(link)
	defer os.Remove(f.Name())
	_, err = f.WriteString("probe")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), link); err != nil {
		return fmt.Errorf("%w: %w", errNoLinks, err)
	}
	text, err := os.ReadFile(link)
	if err == nil && string(text) != "probe" {
		err = errors.New("what is read is not what was written")
	}
	return errors.Join(err, os.Remove(link), os.Remove(f.Name()))
}

func (d *doctor) checkBucket(ctx context.Context) {
	help := bucketFix(d.StorageURL)
	bucket, err := d.OpenBucket(ctx)
	if err != nil {
		d.fail(help, "%v", err)
		return
	}
	key := probePrefix + uuid.NewString()
	info, err := probeBucket(ctx, bucket, key)
	if err != nil {
		d.fail(help, "%v", err)
		return
	}
	d.ok("an object in the bucket can be written, read, copied, listed and deleted")
	if skew := d.now().Sub(info.Modified); skew.Abs() > storageSkew {
		d.fail("let the machine set its clock by NTP", "the clocks of this machine and of the storage differ by %s, so that signatures are refused", skew.Abs().Round(time.Second))
	}
	if p := bucket.Capabilities().Presign; p != nil && d.ServesRequests {
		d.checkBrowsers(ctx, bucket, p, key)
	}
}

// bucketFix says what to do about a bucket that cannot be used. With path_style=false its name is part of the
// host's, which few servers other than Amazon's know.
func bucketFix(storage string) string {
	const help = "see docs/storage.md for the policy and the settings of the bucket"
	if u, err := url.Parse(storage); err == nil && u.Query().Get("path_style") == "false" && u.Query().Has("endpoint") {
		return fmt.Sprintf("set path_style=true in storage_url, unless the server answers as %s.HOST, too; %s", u.Host, help)
	}
	return help
}

// probeBucket does with an object what the service does. It describes the object.
func probeBucket(ctx context.Context, b blob.Store, key string) (blob.Info, error) {
	fail := func(what string, err error) (blob.Info, error) { return blob.Info{}, fmt.Errorf("%s: %w", what, err) }
	defer b.Delete(context.WithoutCancel(ctx), key, key+"-copy")
	if _, err := b.Put(ctx, key, strings.NewReader("probe")); err != nil {
		return fail("write an object (s3:PutObject)", err)
	}
	info, err := b.Stat(ctx, key)
	if err != nil {
		return fail("describe an object (s3:GetObject)", err)
	}
	o, err := b.Open(ctx, key)
	if err != nil {
		return fail("read an object (s3:GetObject)", err)
	}
	text, err := io.ReadAll(o)
	if err = errors.Join(err, o.Close()); err != nil || string(text) != "probe" {
		return fail("read an object (s3:GetObject)", cmp.Or(err, errors.New("it is not what was written")))
	}
	if _, err := b.Copy(ctx, key, key+"-copy", ""); err != nil {
		return fail("copy an object", err)
	}
	listed := 0
	for _, err := range b.List(ctx, key) {
		if err != nil {
			return fail("list objects (s3:ListBucket)", err)
		}
		listed++
	}
	if listed != 2 {
		return fail("list objects (s3:ListBucket)", fmt.Errorf("%d objects instead of 2", listed))
	}
	if err := b.Delete(ctx, key, key+"-copy"); err != nil {
		return fail("delete an object (s3:DeleteObject)", err)
	}
	return info, nil
}

// checkBrowsers uploads as a browser would: it asks first whether its page may, and then sends the file to a
// signed URL.
func (d *doctor) checkBrowsers(ctx context.Context, b blob.Store, p blob.Presigner, key string) {
	const help = "allow PUT and GET from the origins of your pages in the bucket's CORS rules; docs/storage.md shows how"
	origin := cmp.Or(d.BaseURL, d.Address)
	signed, err := p.PresignPut(ctx, key, "video/mp4", probeLife)
	if err != nil {
		d.fail("", "sign an upload: %v", err)
		return
	}
	defer b.Delete(context.WithoutCancel(ctx), key)
	status, header, err := d.request(ctx, http.MethodOptions, signed, nil, http.Header{
		"Origin": {origin}, "Access-Control-Request-Method": {http.MethodPut}, "Access-Control-Request-Headers": {"content-type"},
	})
	if err != nil {
		d.fail("make the storage reachable from where your users are, or set public_endpoint in storage_url", "the URLs for uploads lead nowhere: %v", err)
		return
	}
	if allowed := header.Get("Access-Control-Allow-Origin"); status/100 != 2 || allowed != "*" && allowed != origin {
		d.warn(help, "browsers may not upload from %s: the bucket answers their question with %d", origin, status)
	} else {
		d.ok("browsers may upload to the bucket from %s", origin)
	}
	status, _, err = d.request(ctx, http.MethodPut, signed, []byte("probe"), http.Header{"Content-Type": {"video/mp4"}})
	if err != nil || status/100 != 2 {
		d.fail("see docs/storage.md; path_style=true may be missing from storage_url", "an upload to a signed URL gets %d (%v)", status, err)
	}
}

// request sends a request and reads its answer.
func (d *doctor) request(ctx context.Context, method, url string, body []byte, header http.Header) (int, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header = header
	res, err := d.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, res.Header, err
}
