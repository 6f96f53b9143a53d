# A form reader in the manner of the first CGI libraries.
package main;

sub ReadParse {
    local (*in) = @_ if @_;
    local ($i, $key, $val);
    if (&MethGet) {
        $in = $ENV{'QUERY_STRING'};
    } elsif (&MethPost) {
        read(STDIN, $in, $ENV{'CONTENT_LENGTH'});
    }
    @in = split(/[&;]/, $in);
    foreach $i (0 .. $#in) {
        $in[$i] =~ s/\+/ /g;
        ($key, $val) = split(/=/, $in[$i], 2);
        $key =~ s/%(..)/pack("c", hex($1))/ge;
        $val =~ s/%(..)/pack("c", hex($1))/ge;
        $in{$key} .= "\0" if (defined($in{$key}));
        $in{$key} .= $val;
    }
    return scalar(@in);
}

sub PrintHeader { return "Content-type: text/html\n\n"; }
sub HtmlTop { local ($title) = @_; return "<html>\n<head><title>$title</title></head>\n<body>\n<h1>$title</h1>\n"; }
sub HtmlBot { return "</body>\n</html>\n"; }
sub MethGet { return (defined $ENV{'REQUEST_METHOD'} && $ENV{'REQUEST_METHOD'} eq "GET"); }
sub MethPost { return (defined $ENV{'REQUEST_METHOD'} && $ENV{'REQUEST_METHOD'} eq "POST"); }
sub MyURL { return 'http://' . $ENV{'SERVER_NAME'} . $ENV{'SCRIPT_NAME'}; }
sub CgiDie { local (@msgs) = @_; print &PrintHeader, &HtmlTop("Error: $msgs[0]"), "<p>$msgs[1]</p>", &HtmlBot; die @msgs; }
sub PrintVariables {
    local (*in) = @_;
    local ($out, $output);
    $output = "\n<dl compact>\n";
    foreach $key (sort keys(%in)) {
        foreach (split("\0", $in{$key})) {
            ($out = $_) =~ s/\n/<br>\n/g;
            $output .= "<dt><b>$key</b>\n<dd><i>$out</i><br>\n";
        }
    }
    $output .= "</dl>\n";
    return $output;
}
1;
