import java.io.IOException;

/** Wrong: takes over the matrix that has come, instead of the greater of both, number by number. */
final class OverwritingMerge extends Matrix {
    OverwritingMerge(int me, int n, Adapter adapter) {
        super(me, n, adapter);
    }

    @Override
    protected void merge(int[][] stamp) {
        sent = stamp;
    }

    public static void main(String[] args) throws IOException {
        new Adapter().run(OverwritingMerge::new);
    }
}
