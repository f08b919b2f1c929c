package host

// StartError is why a member cannot start, where the text says what to do about it: its folders are another
// member's or another cluster's, or have other spaces; what they keep is damaged or gone; or a space has an option, or a
// store, that its protocol cannot work with. Other errors of Start, as that a folder cannot be written, leave it to the
// caller what to advise.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *StartError) Unwrap() error { return e.Err }

// explained makes a StartError of an error that says what to do.
func explained(err error) error {
	if err == nil {
		return nil
	}
	return &StartError{err}
}
