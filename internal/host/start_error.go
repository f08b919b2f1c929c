package host

// StartError is a reason why a member cannot start, with advice in its text: its folders belong to another member or
// another cluster, or have other spaces; their contents are damaged or gone; or a space has an option, or a store, that
// its protocol cannot work with. For other errors of Start, such as a folder that cannot be written, the caller must
// decide what to advise.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *StartError) Unwrap() error { return e.Err }

// explained makes a StartError of an error that has advice.
func explained(err error) error {
	if err == nil {
		return nil
	}
	return &StartError{err}
}
