package media
import ("testing";"syscall";"os";"time";"github.com/spool-video/spool/internal/video")
func TestZZ(t *testing.T){
 tools:=newTools(t); 
 if os.Getenv("ZZ_T")=="2" {tools.threads=2}
 job:=newJob(t, os.Getenv("ZZ"))
 t0:=time.Now()
 p,err:=tools.Inspect(t.Context(),job,Ask{Names:[]video.Name{"1080p","720p","480p","360p","240p","144p"}}); if err!=nil{t.Fatal(err)}
 t.Log("inspect",time.Since(t0))
 ru:=func() float64 {var r syscall.Rusage; syscall.Getrusage(syscall.RUSAGE_CHILDREN,&r); return time.Duration(r.Utime.Nano()+r.Stime.Nano()).Seconds()}
 for n:=range p.Chunks { c:=ru(); t1:=time.Now(); o,err:=tools.EncodeChunk(t.Context(),job,p,n,nil); if err!=nil{t.Fatal(err)}; t.Logf("chunk %d cpu %.2f wall %v frames %d", n, ru()-c, time.Since(t1), o[0].Frames); for _,x:=range o {t.Log(x.Size)}}
}
