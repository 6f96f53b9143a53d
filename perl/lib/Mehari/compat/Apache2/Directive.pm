package Apache2::Directive;

# Represents the configuration as a tree. `conftree` returns the first line of the whole
# configuration. `$parms->directive` returns one line. A node knows its name, its arguments, its
# position and its neighbours.

use strict;
use warnings;
use Mehari::Server ();

# Makes a node from lines. The first line is the node. The other lines are inside this node.
sub of_lines {
    my ($class, $top, @lines) = @_;
    my $line = $top->{line} // 0;
    return $class->_of_places($top, map { [$top->{file}, ++$line, $_] } @lines);
}

# Makes nodes from lines. Each line comes with its file and its number in this file.
sub _of_places {
    my ($class, $top, @lines) = @_;
    my $root = $class->_node(@$top{qw(directive args file line)});
    my @open = ($root);
    for my $place (@lines) {
        my ($file, $line, $text) = @$place;
        if ($text =~ m{\A\s*</}) { pop @open if @open > 1; next }
        my ($name, $args) = $text =~ /\A\s*(\S+)\s*(.*?)\s*\z/s or next;
        my $is_section = $name =~ /\A</;
        $args =~ s/\s*>\z// or $name =~ s/>\z// if $is_section;
        my $node = $class->_node($name, $args, $file, $line);
        $open[-1]->_append($node);
        push @open, $node if $is_section;
    }
    return $root;
}

sub _node {
    my ($class, $directive, $args, $file, $line) = @_;
    return bless { directive => $directive, args => $args, file => $file, line => $line, children => [] }, $class;
}

# Adds a child. The parent's reference to the child is strong, and the reference back is weak.
sub _append {
    my ($self, $child) = @_;
    require Scalar::Util;
    my $last = $self->{children}[-1];
    push @{ $self->{children} }, $child;
    $last->{next} = $child if $last;
    Scalar::Util::weaken($child->{parent} = $self);
    return;
}

my $tree;

# Returns the first directive of the configuration.
sub conftree {
    $tree ||= __PACKAGE__->_of_places({ directive => '', args => '' }, map { [split /\t/, $_, 3] } split /\n/, $Mehari::Server::fact{tree} // '');
    return $tree->{children}[0] || $tree;
}

sub directive   { return $_[0]{directive} }
# As under mod_perl, the arguments of a section end with its `>`.
sub args        { my ($self) = @_; return $self->{args} . ($self->_is_section ? '>' : '') }
sub filename    { return $_[0]{file} }
sub line_num    { return $_[0]{line} }
sub first_child { return $_[0]{children}[0] }
sub next        { return $_[0]{next} }
sub parent      { my ($self) = @_; my $parent = $self->{parent}; return $parent && length $parent->{directive} ? $parent : undef }

sub _is_section { return $_[0]{directive} =~ /\A</ }

# Returns the name without the `<` of a section.
sub _name { return $_[0]{directive} =~ s/\A<//r }

# Returns this node and those after it.
sub _level {
    my ($self) = @_;
    my @nodes;
    for (my $node = $self; $node; $node = $node->next) { push @nodes, $node }
    return @nodes;
}

# lookup($directive, $args) returns the arguments of the matching lines at this level, or for a
# section a hash of its contents. In scalar context it returns the first result.
sub lookup {
    my ($self, $name, $args) = @_;
    my @found = map { $_->_is_section ? $_->first_child ? $_->first_child->as_hash : {} : $_->args }
        grep { lc $_->_name eq lc $name && (!defined $args || $_->{args} eq $args =~ s/>\z//r) } $self->_level;
    return wantarray ? @found : $found[0];
}

# Returns this level as a hash. A name maps to the arguments of its line, or to an array of the
# arguments of several lines. A section's name maps to a hash: arguments => contents.
sub as_hash {
    my ($self) = @_;
    my %hash;
    for my $node ($self->_level) {
        my $name = $node->_name;
        if ($node->_is_section) { $hash{$name}{ $node->{args} } = $node->first_child ? $node->first_child->as_hash : {} }
        elsif (!exists $hash{$name}) { $hash{$name} = $node->args }
        else { $hash{$name} = [ref $hash{$name} ? @{ $hash{$name} } : $hash{$name}, $node->args] }
    }
    return \%hash;
}

# Returns the lines inside the node as they would be written. Only a section has such lines.
sub as_string {
    my ($self) = @_;
    return join '', map { $_->_written } $self->first_child ? $self->first_child->_level : ();
}

sub _written {
    my ($self) = @_;
    my $args = length $self->{args} ? " $self->{args}" : '';
    return $self->directive . "$args\n" unless $self->_is_section;
    return $self->directive . "$args>\n" . $self->as_string . '</' . $self->_name . ">\n";
}

1;

__END__

=head1 NAME

Apache2::Directive - the configuration as a tree

=head1 SYNOPSIS

    use Apache2::Directive ();
    my $tree = Apache2::Directive::conftree();
    my $root = $tree->lookup('DocumentRoot');
    for (my $node = $tree; $node; $node = $node->next) {
        print $node->directive, ' ', $node->args, "\n";
    }

=head1 DESCRIPTION

A node is a line of the configuration. The lines inside a section are children of the section's
node.

=head1 FUNCTIONS

=over 4

=item conftree

Returns the first line of the configuration.

=back

=head1 METHODS

=over 4

=item directive, args

C<directive> returns the name. For a section, the name begins with C<< < >>. C<args> returns the
arguments as text.

=item filename, line_num

Return the file and the number of the line.

=item next, parent, first_child

Return a neighbour in the tree, or undef.

=item lookup(NAME, [ARGS])

Returns the arguments of the lines with this NAME at this level. For a section, it returns a hash of
the section's lines. In scalar context it returns the first result.

=item as_hash

Returns this node and all nodes after it as a hash reference. The keys are names, and the values are
arguments. If several lines have the same name, the value is an array reference. The value of a
section is a hash of hashes. Its keys are the section's arguments.

=item as_string

Returns the lines inside this node as text. Only a section has lines inside.

=back

=head1 DIFFERENCES

F<docs/reference/modperl-behaviours.md> compares the methods for neighbours and C<as_string> with
mod_perl.

=head1 SEE ALSO

L<Apache2::Module>, L<Apache2::CmdParms>, L<Apache2::PerlSections>.

=cut
