"""Every chart that tacit draws, as SVG text: pieces (svg), fronts, lines, bars. Numbers and words in, a picture out."""
