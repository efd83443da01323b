"""Bundle in, smaller bundle out, with what each variant costs and keeps."""
