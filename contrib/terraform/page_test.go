package terraform_test

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/contrib/terraform"
	"github.com/holdfast-locks/holdfast/holdfasttest"
	"github.com/holdfast-locks/holdfast/internal/test/page"
)

// serve is the example of the pages.
func serve(locks holdfast.Locker, folder string, listener net.Listener) error {
	// page
	states, err := terraform.OpenFolder(folder)
	if err != nil {
		return err
	}
	defer states.Close()
	handler := http.StripPrefix("/states/", terraform.New(locks, states))
	return http.Serve(listener, handler) // http://…/states/prod is the state prod
	// end of page
}

// TestPage checks that the pages show an example that works.
func TestPage(t *testing.T) {
	page.Check(t, "doc.go", "../../docs/integrations.md")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- serve(holdfasttest.New(t), filepath.Join(t.TempDir(), "states"), listener) }()
	connections := &http.Transport{DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: connections}).Get("http://" + listener.Addr().String() + "/states/prod")
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("a state that is not there: %s", answer.Status)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	<-done // with the error of the closed listener
}
